# VIPs that automatic detection misses
resource "payments" "email-security:index:VipList" {
  members = {
    "marcus.bell@acme.example"  = "Approves supplier bank changes"
    "diego.santos@acme.example" = ""
  }
}
