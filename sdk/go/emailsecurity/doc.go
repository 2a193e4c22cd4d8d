// Pulumi resources that keep a tenant's VIP employees and its allow/deny list in code
package emailsecurity
