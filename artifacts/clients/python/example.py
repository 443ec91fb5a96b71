# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

"""Manages a virtual machine with the Python kubernetes client: creates it, waits until it is
ready, powers it off and deletes it. Prints a line for each step."""

import argparse

from kubernetes import config, dynamic

# Field manager of this program in the managed fields of objects.
MANAGER = "example-python"


def manifest(name):
    return {
        "apiVersion": "vm.slipway.dev/v1alpha1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {
            "instancetype": {"name": "u1.small"},
            "preference": {"name": "linux.efi"},
            "image": {"kind": "ClusterVirtualMachineImage", "name": "photon-5"},
            "powerState": "PoweredOn",
        },
    }


def ready(vm):
    """Returns whether the condition Ready is true, like "kubectl wait --for=condition=Ready". The
    status must belong to the current spec."""
    status = vm.get("status") or {}
    if status.get("observedGeneration") != vm["metadata"]["generation"]:
        return False
    return any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or [])


def until(vms, namespace, name, wanted, timeout):
    """Waits until wanted returns true and returns the virtual machine. It is None after the deletion.
    A watch begins with the existing objects, so no change is missed."""
    for event in vms.watch(namespace=namespace, field_selector="metadata.name=" + name, timeout=timeout):
        vm = None if event["type"] == "DELETED" else event["raw_object"]
        if wanted(vm):
            return vm
    raise SystemExit(f"error: {name} did not reach the expected state within {timeout} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", help="path of the kubeconfig file")
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--name", default=MANAGER)
    parser.add_argument("--timeout", type=int, default=300, help="seconds for each step")
    args = parser.parse_args()

    # The dynamic client reads the available kinds and subresources from the server.
    client = dynamic.DynamicClient(config.new_client_from_config(config_file=args.kubeconfig))
    vms = client.resources.get(api_version="vm.slipway.dev/v1alpha1", kind="VirtualMachine")

    vms.create(body=manifest(args.name), namespace=args.namespace, field_manager=MANAGER)
    print(f"{args.name} exists", flush=True)
    vm = until(vms, args.namespace, args.name, lambda vm: vm is not None and ready(vm), args.timeout)
    print(f"{args.name} is ready at {vm['status']['network']['primaryIP4']}", flush=True)

    stop = vms.subresources["stop"]
    options = {"apiVersion": "vm.slipway.dev/v1alpha1", "kind": "PowerOptions", "mode": "Hard"}
    stop.create(name=args.name, namespace=args.namespace, body=options)
    vm = until(vms, args.namespace, args.name, lambda vm: vm is not None and vm["status"].get("powerState") == "PoweredOff", args.timeout)
    print(f"{args.name} is {vm['status']['powerState']}", flush=True)

    vms.delete(name=args.name, namespace=args.namespace)
    until(vms, args.namespace, args.name, lambda vm: vm is None, args.timeout)
    print(f"{args.name} is deleted", flush=True)


if __name__ == "__main__":
    main()
