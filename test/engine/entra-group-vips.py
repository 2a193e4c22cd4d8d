"""Runs the program in the directory of the first argument with Pulumi's mocks. Prints what it declares, as JSON."""

import json
import runpy
import sys

import pulumi

declared = []
calls = []


def user(mail, name, enabled=True):
    return {
        "mail": mail,
        "userPrincipalName": name,
        "displayName": f"Person {name}",
        "accountEnabled": enabled,
    }


USERS = [
    user("Jane.Doe@acme.example", "jane.doe@acme.example"),
    user("left@acme.example", "left@acme.example", enabled=False),
    user("", "room@acme.example"),
    user("partner@other.example", "partner_other.example#EXT#@acme.example"),
]


class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        if args.typ != "pulumi:pulumi:Stack":
            declared.append([args.typ, args.inputs])
        return [args.name, args.inputs]

    def call(self, args):
        calls.append(args.args)
        is_group = args.token == "azuread:index/getGroup:getGroup"
        return {"members": ["jane", "nested"]} if is_group else {"users": USERS}


pulumi.runtime.set_mocks(Mocks())


@pulumi.runtime.test
def run():
    runpy.run_path(sys.argv[1])


run()
print(json.dumps({"declared": declared, "calls": calls}))
