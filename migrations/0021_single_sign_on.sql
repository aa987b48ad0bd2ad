-- Operators who sign in at an identity provider (OpenID Connect).
-- issuer and subject; null for operators with a password
alter table operator add column oidc_subject text;
create unique index operator_oidc_subject on operator (oidc_subject) where deleted_at is null;
-- the session at the provider, which can end this one
alter table sign_in add column oidc_sid text;
create index sign_in_oidc_sid on sign_in (oidc_sid) where oidc_sid is not null;
