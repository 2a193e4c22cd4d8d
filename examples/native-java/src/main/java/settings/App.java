package settings;

import com.pulumi.Context;
import com.pulumi.Pulumi;
import io.github.pulumiemailsecurity.emailsecurity.AllowDenyList;
import io.github.pulumiemailsecurity.emailsecurity.AllowDenyListArgs;
import io.github.pulumiemailsecurity.emailsecurity.EmailsecurityFunctions;
import io.github.pulumiemailsecurity.emailsecurity.VipEmployee;
import io.github.pulumiemailsecurity.emailsecurity.VipEmployeeArgs;
import io.github.pulumiemailsecurity.emailsecurity.inputs.GetTopTargetedEntitiesArgs;
import java.util.Map;
import java.util.stream.Collectors;

public class App {
    public static void main(String[] args) {
        Pulumi.run(App::stack);
    }

    private static void stack(Context ctx) {
        new AllowDenyList("lists", AllowDenyListArgs.builder()
            .entries(Map.of(
                "trade-fair.example", "allow: Exhibitor portal, until the fair in May",
                "acme-login.example", "deny: Look-alike of our own domain, INC-1042",
                "192.0.2.66", "deny: Bulletproof hoster, INC-1051"
            ))
            .build());

        new VipEmployee("treasury", VipEmployeeArgs.builder()
            .email("lena.hartmann@acme.example")
            .comment("Releases payments; often impersonated")
            .build());

        var ranking = EmailsecurityFunctions.getTopTargetedEntities(GetTopTargetedEntitiesArgs.builder()
            .days(30)
            .build());
        ctx.export("mostTargeted", ranking.applyValue(found -> found.entities().stream()
            .map(person -> person.fullName().orElse(""))
            .collect(Collectors.toList())));
    }
}
