// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package status tells from one object alone, without any request, how far the object is: whether its
// controllers still work on it, are done, have given up, or are removing it.
//
// The verdict is that of the kstatus library, corrected where a component needs a stricter answer: a Job
// counts when it has finished, a CustomResourceDefinition when it can be used, an APIService when it
// answers, a workload when its controller has seen it at all. Hints, given by an annotation, make up for
// controllers that write their status late. Along with the verdict comes a message in plain words, stable
// as long as the object does not change.
package status
