// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package annotations reads the values of the annotations by which manifests steer the reconciler. It is the one place that
// knows which values are allowed, for the engine that obeys them as well as for those who check them before they get there.
package annotations
