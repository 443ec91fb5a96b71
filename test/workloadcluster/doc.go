// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workloadcluster starts a real workload cluster for tests: a second kube-apiserver with its etcd and
// kube-controller-manager on the loopback interface, without kubelets. The test creates the Nodes. A small replacement
// for kubelets and scheduler runs and ends Pods.
//
// In an end-to-end test:
//
//	w, err := workloadcluster.Start(ctx, workloadcluster.Options{DataDir: t.TempDir(), BinDir: binDir})
//	if err != nil { … }
//	defer w.Stop()
//	// slipway-apiserver finds the cluster by the Secret <cluster>-kubeconfig in the namespace of the Cluster.
//	// It must be allowed to connect to 127.0.0.1: --workload-networks=127.0.0.0/8, which
//	// test/localcluster sets.
//	_, err = host.CoreV1().Secrets(ns).Create(ctx, w.Secret(ns, "my-cluster"), metav1.CreateOptions{})
//	// A Node joins, as after cloud-init has run in the VM of a Machine:
//	_, err = w.AddNode(ctx, "node-1", "vsphere://"+biosUUID)
//	// Pods need spec.nodeName, which the scheduler would set. Each Pod becomes Running and Ready
//	// immediately, and disappears when it is deleted or evicted. PodDisruptionBudgets,
//	// DaemonSets, ReplicaSets and Deployments have their real controllers. Of their Pods, only
//	// those of DaemonSets are assigned to Nodes. A Pod with a finalizer of the test stays in
//	// deletion until the test removes the finalizer.
//	_, err = w.AddPod(ctx, "default", "pod-1", "node-1")
//	err = w.SetReady(ctx, "node-1", corev1.ConditionUnknown) // the kubelet is silent
//	err = w.Freeze()                                        // requests are not answered
//	err = w.Thaw()
//
// MainBesideHost is the TestMain of a package that needs a management cluster with slipway-apiserver and a workload
// cluster. Each of its tests starts with NewScene.
//
// One cluster needs three seconds and 300 MB. Tests of one package share a cluster, and use their own namespaces and
// Node names.
//
// Guarantees: Start returns when everything is ready. If it returns an error, no process is left running. After Stop
// no process is left.
package workloadcluster
