# Entries of one team in a shared list
resource "blocklist" "email-security:index:AllowDenyList" {
  entries = {
    "trade-fair.example"    = "allow: Exhibitor portal, until the fair in May"
    "acme-invoices.example" = "deny: Look-alike of our own domain, INC-1047"
    "192.0.2.66"            = "deny: Bulletproof hoster, INC-1051"
  }
}
