-- PostgreSQL reads CET, EET, MET and WET as abbreviations with a fixed offset, Node.js as zones with daylight saving time.
-- Replaces such names by their successors in version 2024b of the IANA database. Schedules keep their local due time.
do $$
declare
  one text[];
begin
  foreach one slice 1 in array array[['CET', 'Europe/Brussels'], ['MET', 'Europe/Brussels'], ['EET', 'Europe/Athens'],
      ['WET', 'Europe/Lisbon'], ['EST', 'America/Panama'], ['MST', 'America/Phoenix'], ['HST', 'Pacific/Honolulu'],
      ['EST5EDT', 'America/New_York'], ['CST6CDT', 'America/Chicago'], ['MST7MDT', 'America/Denver'],
      ['PST8PDT', 'America/Los_Angeles']] loop
    update application set time_zone = one[2] where upper(time_zone) = one[1] and moving_since is null;
    update notification set time_zone = one[2] where upper(time_zone) = one[1];
    update report_schedule set time_zone = one[2], next_due_at = (next_due_at at time zone time_zone) at time zone one[2]
      where upper(time_zone) = one[1];
  end loop;
end $$;
