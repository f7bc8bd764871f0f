"""Signing in by an identity provider: OpenID Connect, authorisation code with PKCE."""
