-- Reports by e-mail, each week or month, and what was sent.

create table report_schedule (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  kind text not null,
  format text not null check (format in ('xlsx', 'pdf')),
  every text not null check (every in ('week', 'month')),
  time_zone text not null check (now() at time zone time_zone is not null),
  -- hour of the day at which the report of the previous week or month is due
  hour smallint not null check (hour between 0 and 23),
  language text not null,
  recipients text[] not null check (cardinality(recipients) > 0),
  -- null: all vehicles
  group_id uuid,
  created_at timestamptz not null default now(),
  next_due_at timestamptz not null
);
create index report_schedule_application on report_schedule (application_id, created_at);
create index report_schedule_due on report_schedule (next_due_at);
create trigger refuse_while_moving before insert or delete or update of recipients on report_schedule for each row
  execute function refuse_while_moving('application_id');

-- When a report of a schedule is due: at an hour of the first day of a week or month, in a time zone.
create function report_due_at(every text, time_zone text, hour integer, after timestamptz) returns timestamptz
language sql stable as $$
  select min(due) from generate_series(-1, 1) as step cross join lateral (select (date_trunc(every, after at time zone time_zone)
    + step * ('1 ' || every)::interval + make_interval(hours => hour)) at time zone time_zone as due) as candidate
  where due > after
$$;

-- The key makes each due time one report, whatever restarts.
create table sent_report (
  application_id integer not null references application,
  schedule_id uuid not null references report_schedule on delete cascade,
  due_at timestamptz not null,
  from_at timestamptz not null,
  until_at timestamptz not null,
  state text not null default 'due' check (state in ('due', 'sent', 'failed')),
  -- recipients whose message the mail server has accepted
  accepted text[] not null default '{}',
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  last_error text,
  -- of the first message that was accepted
  sent_at timestamptz,
  -- when late data was last looked for
  checked_at timestamptz not null default now(),
  -- when late data was first found to have changed what was sent
  outdated_at timestamptz,
  primary key (schedule_id, due_at)
);
create index sent_report_due on sent_report (next_attempt_at) where state = 'due';

-- The totals of a vehicle as they were sent, and what late data has changed in them: column -> [sent, now].
create table sent_report_vehicle (
  application_id integer not null references application,
  schedule_id uuid not null,
  due_at timestamptz not null,
  vehicle_id integer not null references vehicle,
  totals jsonb not null,
  changes jsonb,
  primary key (schedule_id, due_at, vehicle_id),
  foreign key (schedule_id, due_at) references sent_report on delete cascade
);
create index sent_report_vehicle_vehicle on sent_report_vehicle (vehicle_id);
