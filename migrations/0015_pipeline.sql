-- How the pipeline ran: what each process measured every ten seconds, for the console. Kept for 30 days.
create table pipeline_sample (
  at timestamptz not null,
  -- the service and the process that measured
  source text not null,
  -- length of the interval that the counts and percentiles cover; the other columns are values at its end
  seconds real not null check (seconds > 0),
  accepted_uploads integer,
  refused_packets integer,
  puback_p50_ms real,
  puback_p99_ms real,
  connected_devices integer,
  held_bytes bigint,
  stored_readings integer,
  quarantined_uploads integer,
  lag_p50_ms real,
  lag_p99_ms real,
  waiting_jobs integer,
  oldest_job_seconds real,
  database_bytes bigint,
  redis_bytes bigint,
  primary key (at, source)
);
