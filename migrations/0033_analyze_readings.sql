-- Only the owner of a table can analyze it before PostgreSQL 17, so ingest calls this function.
create function analyze_reading_chunk(chunk regclass) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if not exists (select from show_chunks('reading') as own where own = chunk) then
    raise exception '% is no chunk of readings', chunk;
  end if;
  execute format('analyze %s', chunk);
end $$;
revoke all on function analyze_reading_chunk(regclass) from public;
