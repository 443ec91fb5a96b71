// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workloadcluster starts a real workload cluster for tests: a second
// kube-apiserver with its etcd and kube-controller-manager on the loopback interface,
// without kubelets. The test is what makes Nodes; a small stand-in for kubelets and
// scheduler lets Pods run and end.
//
// In an end-to-end test:
//
//	w, err := workloadcluster.Start(ctx, workloadcluster.Options{DataDir: t.TempDir(), BinDir: binDir})
//	if err != nil { … }
//	defer w.Stop()
//	// slipway-apiserver finds it by the Secret <cluster>-kubeconfig beside the Cluster.
//	// It must be allowed to connect to 127.0.0.1: --workload-networks=127.0.0.0/8, which
//	// test/localcluster gives it.
//	_, err = host.CoreV1().Secrets(ns).Create(ctx, w.Secret(ns, "my-cluster"), metav1.CreateOptions{})
//	// A Node joins, as when cloud-init has run in the VM of a Machine:
//	_, err = w.AddNode(ctx, "node-1", "vsphere://"+biosUUID)
//	// Pods: give spec.nodeName, as the scheduler does. Each one becomes Running and Ready
//	// at once, and disappears when it is deleted or evicted. PodDisruptionBudgets,
//	// DaemonSets, ReplicaSets and Deployments are the real ones; of these only Pods of
//	// DaemonSets are put on Nodes. A Pod with a finalizer of the test stays in deletion
//	// until the test takes that away.
//	_, err = w.AddPod(ctx, "default", "pod-1", "node-1")
//	err = w.SetReady(ctx, "node-1", corev1.ConditionUnknown) // the kubelet is silent
//	err = w.Freeze()                                        // nothing answers
//	err = w.Thaw()
//
// Tests of test/e2e and test/operations get the one that they share from testenv.NewScene. MainBesideHost is the TestMain
// of a package of its own that needs a management cluster with slipway-apiserver next to it.
//
// One cluster takes three seconds and 300 MB: tests of one package share one, in
// namespaces and with Node names of their own.
//
// Guarantees: Start returns with everything ready, or with an error and nothing left
// running. After Stop no process is left.
package workloadcluster
