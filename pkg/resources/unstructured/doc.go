// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package unstructured has typed resources for objects of any kind, above all of kinds for which there is no Go type: a
// base object, mutations that belong to features, and what the author knows about the life of such objects.
//
// There is one constructor for each way to tell how far an object is: [NewBuilder] leaves it to the reconciler, which
// knows the conventions that most kinds follow; [NewWorkloadBuilder], [NewTaskBuilder] and [NewIntegrationBuilder] take
// a function. Unless the builder gets functions for that, the grace status follows from this status, and the object has
// no suspended form.
//
// The builders and resources are those of package generic, whose documentation says what their methods do, and in which
// order mutations are applied.
package unstructured
