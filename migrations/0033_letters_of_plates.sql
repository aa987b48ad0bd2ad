-- Plates differ by every letter, not only by A to Z: M-AB 123 and MÜ-AB 123 are two vehicles, as are А123ВС77 and О123МК77.
drop index vehicle_plate;
create unique index vehicle_plate on vehicle (application_id, (regexp_replace(upper(plate),
    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u2212\u3000\u30fb]', '', 'g')))
  where deleted_at is null;
