-- The rights of the services as infra/database-roles.sql granted them, and the number of migrations at that time. Doctor
-- compares them with those that the roles have; null where the services have no roles.
alter table installation
  add column granted_rights text[],
  add column granted_migrations integer;

create function list_granted_rights() returns text[] language sql stable as $$
  select array_agg(granted order by granted) from (
    select format('%s %s on %s', grantee::regrole, lower(privilege_type), relname) as granted
      from pg_class, aclexplode(relacl) where relnamespace = 'public'::regnamespace and grantee <> 0
    union all select format('%s %s (%s) on %s', grantee::regrole, lower(privilege_type), attname, relname)
      from pg_attribute join pg_class on pg_class.oid = attrelid, aclexplode(attacl)
      where relnamespace = 'public'::regnamespace and grantee <> 0 and not attisdropped
    union all select format('%s %s on %s', grantee::regrole, lower(privilege_type), proname)
      from pg_proc, aclexplode(proacl) where pronamespace = 'public'::regnamespace and grantee <> 0
    union all select format('%s %s on schema public', grantee::regrole, lower(privilege_type))
      from pg_namespace, aclexplode(nspacl) where nspname = 'public' and grantee <> 0
  ) as rights where granted like 'odograph\_%'
$$;
