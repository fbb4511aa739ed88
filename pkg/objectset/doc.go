// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package objectset reconciles ObjectSets and ClusterObjectSets: objects in phases; each phase begins when the one
// before is available. It is the engine of this runtime, with phases for waves and probes for verdicts; see
// [github.com/component-operator/runtime/pkg/objectset/v1alpha1] for the kinds.
//
// Phases and probes follow "Reconcile Phases" of Package Operator. The page about ObjectSets has a table of the
// differences.
package objectset
