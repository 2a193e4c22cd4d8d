# Those whom detection misses, each with a comment
resource "assistants" "email-security:index:VipList" {
  members = {
    "lena.hartmann@acme.example" = "Releases payments; often impersonated"
    "marcus.bell@acme.example"   = "Approves supplier bank changes"
  }
}
