# Declare a settings file
resource "acme" "email-security:index:TenantSettings" {
  file = "settings/acme.yaml"
}
