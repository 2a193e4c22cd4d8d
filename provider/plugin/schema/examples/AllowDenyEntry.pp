# Deny a look-alike domain
resource "lookAlike" "email-security:index:AllowDenyEntry" {
  list    = "deny"
  value   = "acme-login.example"
  comment = "Look-alike of our own domain, INC-1042"
}
