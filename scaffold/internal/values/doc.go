// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package values derives Go types from the values of a chart: declarations with kubebuilder markers, from which
// controller-gen makes the schema of a custom resource.
//
// A chart describes its values twice: values.schema.json defines what is valid, values.yaml contains the defaults. Helm
// merges the user's values into values.yaml, and validates the result. A custom resource contains only the user's
// values. Therefore:
//
//   - A field is required if the chart cannot be installed without it: if the schema requires it and values.yaml does not have
//     it, or if the default in values.yaml is invalid, such as an empty string where the schema wants a name.
//   - The types have no defaults. The default of a schema has no effect on Helm, so it must not have one on the operator.
//     A default from values.yaml would be stored in each custom resource, and survive a new version of the chart that changes
//     it. Comments name the defaults.
//   - What is not set is absent, and the chart's default applies. What is set to false, 0, "" or an empty list reaches
//     the chart. A null does not: it is refused where the chart has a default, because Helm would remove that default.
//   - Objects have the fields that the schema or values.yaml names. Further fields are refused, even if the schema
//     does not forbid them: a Go type would lose them.
//
// Without a schema, the types are derived from the defaults. A default shows the type of a value, but not what an empty
// object may contain: null, {} and [] become free-form values, which accept anything. If the templates put such a value
// into a field of Kubernetes, such as resources, affinity or tolerations, it gets the type of that field from k8s.io/api
// instead, and so does a number that may also be a percentage there, such as minAvailable. To find out, the chart is
// rendered with marked values.
//
// Types, enums, patterns and bounds of the schema become value validations. Conditions, such as if, oneOf or not, are
// left to the chart's own schema, which Helm validates when the operator renders the chart; a comment and a note say
// so. A value without a Go type, such as one of several types, is raw JSON.
package values
