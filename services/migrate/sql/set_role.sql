-- Sets the parameters of create_role.sql as settings, because a DO block takes no parameters.
-- $1 role, $2 SCRAM verifier of its password, '' = none given
-- columns: role verifier
SELECT set_config('migrate.role', $1, true) AS role,
       set_config('migrate.verifier', $2, true) AS verifier
