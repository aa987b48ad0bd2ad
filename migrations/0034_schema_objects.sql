-- As before, but for functions that share their number with a part of an extension, an operator for example: they were left
-- out. pg_upgrade and pg_restore number functions anew, and such a database was refused as incomplete.
create or replace function list_schema_objects() returns text[] language sql stable as $$
  select array_agg(object order by object) from (
    select format('%s %s', case relkind when 'i' then 'index' else 'table' end, relname) as object
      from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'i')
    union all select format('constraint %s of %s', conname, relname)
      from pg_constraint join pg_class on pg_class.oid = conrelid where relnamespace = 'public'::regnamespace
    union all select format('trigger %s of %s', tgname, relname)
      from pg_trigger join pg_class on pg_class.oid = tgrelid
      where relnamespace = 'public'::regnamespace and not tgisinternal and tgname <> 'ts_insert_blocker'
    union all select format('function %s', proname)
      from pg_proc where pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend
          where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
  ) as own
$$;
