// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helm makes Helm charts usable as generators.
//
// Helm's own SDK renders the chart, so it renders as it does with Helm: subcharts with conditions, tags,
// aliases and imported values, library charts, .helmignore, values schemas and all template functions.
// The parameters of the component are the values of the release. Templates see whole numbers among them as integers,
// as with --set; whole numbers from values files, including the chart's own, are floats.
//
// A chart may render to 16 MiB of text. Helm's engine only limits how often a template includes itself; it
// cannot be interrupted, and the size of its output is known only afterwards. So a chart that repeats a text without
// end, or renders such a value with tpl, uses up the memory of the process.
//
// # Release
//
// .Release.Name and .Release.Namespace are those that the generator is called with, .Release.Revision is the revision
// of the component, .Release.Service is an option. .Release.IsUpgrade is true if an earlier revision of the component
// was completely installed (generator.InstalledFromContext), so changing a component whose installation has failed is
// still an installation. .Capabilities and lookup refer to the target cluster. Objects of the crds folders are managed
// like all others; a chart should not contain the same definition in its templates.
//
// Rendered objects are used again until the component, the chart, or the API of the target cluster has changed, unless
// templates call lookup or there is a post-renderer without fingerprint. Random values and the current time in
// templates change at the same moments; to keep a generated password, for instance, look it up first.
//
// # Annotations
//
// Objects may carry annotations of the reconciler (<reconciler name>/apply-order and so on), except owner-id and
// digest, which the reconciler writes itself. helm.sh/resource-policy: keep becomes delete-policy orphan; other
// values of it are refused.
//
// # Hooks
//
// Hooks are not applied in a special way. They become objects in waves of their own: pre hooks before wave 0,
// post hooks after it. Let w be the helm.sh/hook-weight, an integer between -100 and 100 that
// defaults to 0:
//
//	helm.sh/hook                       apply-order   purge-order, with hook-succeeded
//	pre-install, pre-upgrade           w-101         -1
//	post-install, post-upgrade         w+101         201
//	both for the same event            w-101         201
//
// The delete policy before-hook-creation, which is the default, becomes update-policy recreate. With hook-succeeded,
// the object is purged when it is ready, at the stated order; a Job or Pod that has succeeded also if another hook
// fails. hook-failed becomes purge-on-failure: the object is deleted when it has failed, and the component is in state
// Error until its spec is changed.
//
// An install hook has reconcile-policy once, and stays unchanged during upgrades. An upgrade hook is left out during
// the installation, and has reconcile-policy on-object-or-component-change. A hook for both counts as install hook
// during the installation and as upgrade hook afterwards. If the installation takes more than one revision, hooks run
// for each of them.
//
// Hooks for pre-delete and post-delete become deletion hooks (annotation deletion-hook) with apply-order w. They are
// stored in a Secret beside the component, applied before the first dependent is deleted or after the last one is gone,
// and removed when all of them are ready. Delete policies have no effect on them. A failed one stays and blocks the
// deletion of the component until a user deletes it, upon which it runs again, or sets the annotation
// skip-deletion-hooks on the component. An object with both kinds of hooks is deleted and created again in between.
//
// Hooks for pre-rollback, post-rollback, test and test-success are for releases of a command line, not for components.
// They are left out unless the context asks for them (generator.Surroundings). They then become release hooks
// (annotation release-hook, with the value test for both kinds of tests) with the orders of the table (those of post
// hooks for tests), reconcile-policy on-object-or-component-change, and delete policies as above. A hook for both sides
// of a rollback runs before it.
//
// Objects with the hook crd-install, which was meant for Helm 2, are left out: Helm 3 leaves out objects with unknown
// hooks, and charts for both versions contain the same definitions in folder crds. Other unknown hooks are refused.
// Hook annotations in crds folders have no effect.
//
// If an object carries an annotation of the reconciler that one of these rules would set to another value, it
// is refused.
package helm
