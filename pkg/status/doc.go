// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of an object from the object alone, without requests: whether its
// controllers are still working on it, are done, have given up, or are deleting it.
//
// The status is that of the kstatus library, with stricter rules where components need them: a Job is current when it
// has finished, a CustomResourceDefinition when it can be used, an APIService when it is available, a workload only
// after its controller has observed it. Hints in an annotation compensate for controllers that write their status late.
// A status has a message, which does not change unless the object does.
package status
