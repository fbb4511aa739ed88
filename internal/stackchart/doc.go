// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package stackchart writes a Helm chart of the size and shape of a monitoring stack, for benchmarks and tests: large
// CustomResourceDefinitions in a subchart, custom resources of them, dashboards, workloads with their service accounts, roles and
// Services, an admission webhook, and hooks that run Jobs.
//
// All its pods are ready at once in a sandbox. Its values can make one of its Deployments or a hook fail; see chart/values.yaml.
package stackchart
