-- What only the owner of the readings may do, for a service that is not: infra/database-roles.sql says which.

create function compress_reading_chunk(chunk regclass) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if not exists (select from show_chunks('reading') as own where own = chunk) then
    raise exception '% is no chunk of readings', chunk;
  end if;
  perform compress_chunk(chunk, if_not_compressed => true);
end $$;
revoke all on function compress_reading_chunk(regclass) from public;

create function drop_readings_older_than(age interval) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  return (select count(*) from drop_chunks('reading', older_than => age));
end $$;
revoke all on function drop_readings_older_than(interval) from public;
