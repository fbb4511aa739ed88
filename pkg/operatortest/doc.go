// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package operatortest runs operators in tests, against a real Kubernetes. A test contains only the actions and
// expectations of users:
//
//	func TestSample(t *testing.T) {
//		cluster := operatortest.Start(t, operatortest.Options{
//			Operators: []operator.Operator{myoperator.New()},
//			Chart:     "../../chart",
//		})
//		sample := operatortest.File(t, "../../examples/sample.yaml")[0]
//		cluster.Apply(t, sample)
//		cluster.WaitReady(t, sample)
//		cluster.Delete(t, sample)
//		cluster.WaitGone(t, sample)
//	}
//
// # Which Kubernetes
//
// It is chosen once per test program:
//   - the cluster of the kubeconfig that TEST_SANDBOX_KUBECONFIG names;
//   - with TEST_USE_EXISTING_CLUSTER=1, the cluster of the usual kubeconfig (KUBECONFIG, ~/.kube/config);
//   - otherwise a sandbox (package sandbox) that ends with the program. On first use it is built from Go modules, which takes minutes.
//
// KUBECONFIG alone is never used. If no Kubernetes is available, a test fails; with -short it is skipped.
//
// # Isolation
//
// Each Cluster has a namespace of its own, and its operator watches only components in it. So tests may run in
// parallel, unless the components are cluster-scoped. Definitions are shared. They have no conversion webhook, even if
// the operator's chart has one: test conversions without a Kubernetes.
//
// # Waiting
//
// All methods that wait fail the test after a minute, or after the duration in TEST_PATIENCE. The message contains the
// state and conditions of the component, its dependents that are not ready, and the operator's last log lines.
//
// Import the package in tests only.
package operatortest
