-- Creates the role of one service. It can log in once it has a password, and end hung sessions of
-- services; nothing else. Roles belong to the whole server, and another database may be migrated at
-- the same time.
DO $$
DECLARE
    role constant name := current_setting('migrate.role');
    verifier constant text := current_setting('migrate.verifier');
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE '
                           'NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 100', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = role
               AND (rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls)) THEN
        RAISE EXCEPTION 'role % has more privileges than a service may have', role;
    END IF;
    IF verifier <> '' THEN
        EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L', role, verifier);
    END IF;
    -- So that no service takes all connections. A limit that was set to another value is kept.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = role AND rolconnlimit = -1) THEN
        EXECUTE format('ALTER ROLE %I CONNECTION LIMIT 100', role);
    END IF;
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
    EXECUTE format('GRANT USAGE ON SCHEMA migration TO %I', role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION migration.end_hung_sessions() TO %I', role);
END
$$
