import pulumi
import pulumi_email_security as email_security

email_security.AllowDenyList(
    "lists",
    entries={
        "trade-fair.example": "allow: Exhibitor portal, until the fair in May",
        "acme-login.example": "deny: Look-alike of our own domain, INC-1042",
        "192.0.2.66": "deny: Bulletproof hoster, INC-1051",
    },
)

email_security.VipEmployee(
    "treasury",
    email="lena.hartmann@acme.example",
    comment="Releases payments; often impersonated",
)

ranking = email_security.get_top_targeted_entities_output(days=30)
pulumi.export("mostTargeted", ranking.entities)
