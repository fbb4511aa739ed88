// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory has the types that record dependents: items, their phases and policies. They are part of the
// statuses of components and of the records of releases, which older and newer versions read, and which must never be
// refused. So their JSON stays compatible, no field is required, and definitions restrict no value.
package inventory
