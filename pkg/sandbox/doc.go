// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package sandbox builds and runs a real Kubernetes from Go modules: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, and kwok in the role of the kubelets. It downloads no prebuilt binary
// and needs neither containers nor a cluster, only the go command.
//
// [Assets] builds the programs, once per user and content, into the user's cache directory. [Start] runs them with a
// fresh certificate authority on free ports of 127.0.0.1. All processes of a sandbox end with the process that started
// it, however that process ends: each program runs below a guard that watches an inherited pipe. So callers need not
// clean up after a crash.
//
// # What is real
//
// Scheduling, Deployments, Jobs, garbage collection, namespace deletion and so on are done by the real controllers.
// Nodes are simulated, so no image is ever pulled and no container runs:
//   - a pod that restarts always becomes Running and Ready at once and stays so;
//   - a pod that does not (such as those of a Job) becomes Running and then succeeds;
//   - a pod annotated [AnnotationFail] fails; if it restarts always, it is found in a crash loop instead;
//   - a pod annotated [AnnotationNeverReady] becomes Running, but never Ready, and never ends, so that a Deployment
//     whose pod template carries the annotation never progresses;
//   - a Job annotated [AnnotationFail] passes the annotation on to its pods;
//   - a deleted pod is gone at once.
//
// The API server runs its garbage collector less often than usual, which takes some hundred MiB more memory. It allows
// administrators to profile it.
//
// There is no pod network: connections to a Service or a pod IP fail. Only Unix systems are supported.
//
// # Environment
//
// Programs in the folder KUBEBUILDER_ASSETS are preferred over the built ones, each individually.
//
// Proxies (HTTP_PROXY and the like) apply to building the programs, and to the commands of [Sandbox.Run], but not to
// the programs of the sandbox: its API server calls webhooks directly.
package sandbox
