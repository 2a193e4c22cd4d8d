/**
 * Domains from which nearly every organization receives mail. Feeds list them because attackers imitate them, or because
 * a host below them was abused. Hosts below them can be denied: they often belong to somebody else.
 *
 * Kept here because the rankings of popular websites are mostly domains that send no mail, such as those of ads.
 */
const POPULAR_DOMAINS: ReadonlySet<string> = new Set(
  [
    // Office, cloud and search
    "google.com microsoft.com microsoftonline.com office.com office365.com sharepoint.com windows.net azure.com apple.com",
    "icloud.com amazon.com amazonaws.com amazon.co.uk amazon.de adobe.com adobesign.com oracle.com ibm.com sap.com cisco.com",
    "dell.com hp.com intel.com vmware.com cloudflare.com godaddy.com ionos.com ovh.com",
    // Files, signatures, meetings and chat
    "dropbox.com dropboxmail.com box.com wetransfer.com docusign.com docusign.net hellosign.com zoom.us webex.com slack.com",
    "teams.mail.microsoft notion.so evernote.com canva.com figma.com miro.com asana.com trello.com monday.com airtable.com",
    // Development
    "github.com gitlab.com bitbucket.org atlassian.com atlassian.net npmjs.com docker.com stackoverflow.com stackoverflow.email",
    // Customer service, marketing and delivery of mail
    "salesforce.com hubspot.com zendesk.com mailchimp.com mailchimpapp.com sendgrid.net sendgrid.com mailgun.org mailgun.net",
    "amazonses.com mandrillapp.com sparkpostmail.com sendinblue.com brevo.com mailjet.com constantcontact.com surveymonkey.com",
    "typeform.com eventbrite.com intercom-mail.com mimecast.com proofpoint.com",
    // Social networks and publishing
    "linkedin.com facebook.com facebookmail.com instagram.com whatsapp.com twitter.com x.com youtube.com xing.com pinterest.com",
    "reddit.com medium.com wordpress.com wordpress.org substack.com blogger.com wikipedia.org",
    // Payments, accounting and banks
    "paypal.com stripe.com square.com squareup.com intuit.com quickbooks.com xero.com wise.com visa.com mastercard.com",
    "americanexpress.com chase.com bankofamerica.com wellsfargo.com citi.com hsbc.com barclays.co.uk santander.com",
    // Shops, deliveries and travel
    "ebay.com shopify.com etsy.com walmart.com alibaba.com dhl.com dhl.de ups.com fedex.com usps.com royalmail.com dpd.com",
    "booking.com airbnb.com expedia.com uber.com netflix.com spotify.com",
    // National domains of the above
    "google.de google.fr google.es google.it google.nl google.ca google.co.uk google.co.jp google.com.au google.com.br",
    "amazon.fr amazon.es amazon.it amazon.nl amazon.ca amazon.co.jp amazon.com.au amazon.com.br paypal.de paypal.fr paypal.co.uk",
    "ebay.de ebay.fr ebay.it ebay.co.uk ebay.com.au",
  ].flatMap((line) => line.split(" ")),
);

/** Whether nearly every organization receives mail from a domain (in canonical form), so that a feed lists it by mistake. */
export function isPopularDomain(domain: string): boolean {
  return POPULAR_DOMAINS.has(domain);
}

/** Domains with mailboxes of many people that the package of free-mail domains lacks, or counts as small. */
const MAILBOX_PROVIDERS: ReadonlySet<string> = new Set(
  [
    "googlemail.com ymail.com rocketmail.com gmx.ch gmx.at bk.ru hanmail.net bol.com.br rediffmail.com email.cz post.cz pm.me",
    "posteo.de tutanota.com tuta.io fastmail.com duck.com aol.de ziggo.nl telia.com bluewin.ch hispeed.ch sunrise.ch xs4all.nl",
    "privaterelay.appleid.com ezweb.ne.jp softbank.ne.jp i.softbank.jp xtra.co.nz kpnmail.nl",
  ].flatMap((line) => line.split(" ")),
);

/** Whether many people have their mailbox at a domain (in canonical form), although it isn't among the largest free-mail domains. */
export function isMailboxProvider(domain: string): boolean {
  return MAILBOX_PROVIDERS.has(domain);
}
