-- Device secrets that overlap while they are rotated, and from when on client certificates count.
alter table device
  -- the secret before, good until the newer one is used for the first time, at the latest until then
  add column previous_secret_sha256 bytea,
  add column previous_secret_until timestamptz,
  add constraint device_previous_secret check ((previous_secret_sha256 is null) = (previous_secret_until is null)),
  -- a certificate that was issued before is worth nothing; null: none was revoked
  add column certificates_issued_from timestamptz;

-- Ends the overlap, because the device is known to have its newer secret. The broker may call this and change nothing else.
create function confirm_device_secret(confirmed_device text, used_sha256 bytea) returns void
language sql security definer set search_path = public, pg_temp as $$
  update device set previous_secret_sha256 = null, previous_secret_until = null
  where id = confirmed_device and secret_sha256 = used_sha256 and previous_secret_sha256 is not null
$$;
revoke all on function confirm_device_secret(text, bytea) from public;
