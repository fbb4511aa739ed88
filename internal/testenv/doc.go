// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package testenv gives tests a Kubernetes to work on, with few words in each test.
//
// Which one it is, is decided once per process:
//   - the cluster of the kubeconfig that TEST_SANDBOX_KUBECONFIG names: the sandbox that "make test" starts for all packages;
//   - with TEST_USE_EXISTING_CLUSTER=1, the cluster of the usual kubeconfig (KUBECONFIG, ~/.kube/config);
//   - otherwise a sandbox of the process's own, started when the first test asks for it and gone with the process.
//
// KUBECONFIG alone is never followed: it may lead to somebody's production. A test that asks for a cluster and cannot
// have one fails; with -short it is skipped.
//
// Tests share the cluster and run in parallel: each works in a namespace of its own ([Namespace]) and gives unique
// names to what has none.
package testenv
