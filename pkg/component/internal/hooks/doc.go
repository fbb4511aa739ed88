// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks stores the deletion hooks of a component, and runs them when the component is deleted.
//
// # Contract
//
// Hooks are stored in Secrets before the first dependent is written, because what they were generated from may be gone
// when the component is deleted. The status refers to these Secrets: it gets the field before the first Secret exists,
// and loses it after the last one is gone.
//
// Hooks are applied with the permissions of the operator. A user who may write the status and some Secret must not gain
// these permissions. So an annotation of the component has the checksum of the stored hooks: changing it takes the
// permission to change the component, and with it its spec.
//
// Package deletionhooks says how hooks take part in a deletion.
package hooks
