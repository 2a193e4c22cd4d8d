# Make a payment approver a VIP
resource "treasury" "email-security:index:VipEmployee" {
  email   = "lena.hartmann@acme.example"
  comment = "Releases payments; often impersonated"
}
