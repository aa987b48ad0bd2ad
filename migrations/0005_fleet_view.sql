-- What the fleet's view of a vehicle and the feed of stored readings need.

-- Vehicles whose positions are private now are few among all periods that ever were.
create index privacy_period_end on privacy_period (coalesce(upper(period), 'infinity'));

-- Changes of this transaction, and of those before it, may be forgotten: who has read no further has missed some.
alter table application add column changes_forgotten_until xid8 not null default '0';
