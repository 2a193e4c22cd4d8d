# What a settings file declares
resource "acme" "email-security:index:TenantSettings" {
  file = "settings/acme.yaml"
}
