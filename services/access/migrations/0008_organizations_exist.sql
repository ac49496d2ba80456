-- An operator may name an organization that there is not. Services that act for operators look it up,
-- and that is all that they see here.
DO $$
DECLARE
    service text;
BEGIN
    FOREACH service IN ARRAY ARRAY['conv_audit', 'conv_conversation', 'conv_webhook'] LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA access TO %I', service);
        EXECUTE format('GRANT SELECT (organization_id) ON access.organizations TO %I', service);
    END LOOP;
END
$$;
