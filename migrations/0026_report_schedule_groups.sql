-- A group that a report schedule reports on cannot be deleted. A schedule whose group is already gone can only send empty
-- reports.
delete from report_schedule where group_id is not null and not exists (select from vehicle_group where id = group_id);
alter table report_schedule add constraint report_schedule_group foreign key (group_id) references vehicle_group;
create index report_schedule_group on report_schedule (group_id) where group_id is not null;
