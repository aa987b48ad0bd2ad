-- The id of an event is its position in the list. An event that was given up keeps both.
update webhook_dead_letter set event_id = position_behind;
