package main

import (
	"github.com/pulumi-email-security/pulumi-email-security/sdk/go/emailsecurity"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		if _, err := emailsecurity.NewAllowDenyList(ctx, "lists", &emailsecurity.AllowDenyListArgs{
			Entries: pulumi.StringMap{
				"trade-fair.example": pulumi.String("allow: Exhibitor portal, until the fair in May"),
				"acme-login.example": pulumi.String("deny: Look-alike of our own domain, INC-1042"),
				"192.0.2.66":         pulumi.String("deny: Bulletproof hoster, INC-1051"),
			},
		}); err != nil {
			return err
		}

		if _, err := emailsecurity.NewVipEmployee(ctx, "treasury", &emailsecurity.VipEmployeeArgs{
			Email:   pulumi.String("lena.hartmann@acme.example"),
			Comment: pulumi.String("Releases payments; often impersonated"),
		}); err != nil {
			return err
		}

		ranking := emailsecurity.GetTopTargetedEntitiesOutput(ctx, emailsecurity.GetTopTargetedEntitiesOutputArgs{
			Days: pulumi.Int(30),
		})
		ctx.Export("mostTargeted", ranking.Entities())
		return nil
	})
}
