-- A key that is replaced gets an end.
GRANT UPDATE (expires_at) ON access.api_keys TO conv_access;
