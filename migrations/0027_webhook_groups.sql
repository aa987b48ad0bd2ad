-- A webhook can be limited to the vehicles of a group and its subgroups. Such a group cannot be deleted.
alter table webhook add column group_id uuid;
alter table webhook add constraint webhook_group foreign key (group_id) references vehicle_group;
create index webhook_group on webhook (group_id) where group_id is not null;
