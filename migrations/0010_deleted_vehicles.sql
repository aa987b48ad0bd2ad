-- What a device did in a vehicle that is deleted is gone, but that it sat in one is not: until when. Otherwise its next
-- link would reach back without bound, and give what it still uploads of the old vehicle to the new one.
alter table device add column left_deleted_vehicle_at timestamptz;

create index vehicle_purge_open on vehicle_purge (requested_at) where verified_at is null;
-- Requests are listed in this order.
create index vehicle_request_order on vehicle_request (created_at, id);
