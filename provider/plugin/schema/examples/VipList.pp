# Those whom detection misses, each with a comment
resource "payments" "email-security:index:VipList" {
  members = {
    "marcus.bell@acme.example"  = "Approves supplier bank changes"
    "diego.santos@acme.example" = ""
  }
}
