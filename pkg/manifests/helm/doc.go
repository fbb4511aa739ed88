// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helm makes Helm charts usable as generators.
//
// A chart renders as it does with Helm itself, since Helm's own SDK does it: subcharts with conditions, tags,
// aliases and imported values, library charts, .helmignore, values schemas and all template functions work
// as usual. The parameters of the component are the values of the release. Whole numbers among them are integers for
// templates, as with --set; those of values files, the chart's own included, are floats.
//
// A chart may yield 16 MiB of text. Helm's engine limits how often a template includes itself, and nothing else; it
// cannot be interrupted, and the size of its output is known only afterwards. So a chart that repeats a text without
// end, or renders a value with tpl that does, uses up the memory of the process; package isolated sets limits to it.
//
// # Release
//
// .Release.Name and .Release.Namespace are what the generator is called with, .Release.Revision is the revision
// of the component, .Release.Service is an option. .Release.IsUpgrade is true if an earlier revision of the component was completely installed
// (generator.InstalledFromContext), so changing a component whose installation has failed is still an
// installation. .Capabilities and lookup refer to the target cluster. Objects of the crds folders are managed
// like all others; a chart should not contain the same definition in its templates.
//
// Rendered objects are used again until the component, the chart, or the API of the target cluster has changed,
// unless lookup was called or there is a post-renderer without fingerprint. Random values and the current time, if templates use them, change at the same moments;
// to keep a generated password, for instance, look it up first.
//
// # Annotations
//
// Objects may carry annotations of the reconciler (<reconciler name>/apply-order and so on), except owner-id and
// digest, which the reconciler writes itself. helm.sh/resource-policy: keep becomes delete-policy orphan; other
// values of it are refused.
//
// # Hooks
//
// There is no second way to apply objects: hooks become objects in waves of their own, before wave 0 for
// pre hooks and after it for post hooks. Let w be the helm.sh/hook-weight, an integer between -100 and 100 that
// defaults to 0:
//
//	helm.sh/hook                       apply-order   purge-order, with hook-succeeded
//	pre-install, pre-upgrade           w-101         -1
//	post-install, post-upgrade         w+101         201
//	both for the same event            w-101         201
//
// The delete policy before-hook-creation, which is the default, becomes update-policy recreate; hook-succeeded
// makes the object go when it is ready, at the stated order; hook-failed becomes purge-on-failure: the object goes when it
// has failed, and the component is in state Error until its spec is changed.
//
// An install hook has reconcile-policy once, and stays where it is during upgrades. An upgrade hook is left
// out during the installation, and has reconcile-policy on-object-or-component-change. A hook for both counts as
// install hook during the installation and as upgrade hook afterwards. If the installation takes more than one revision, hooks run
// for each of them.
//
// Hooks for pre-delete and post-delete become deletion hooks (annotation deletion-hook), whose apply-order is w: they are stored in
// a Secret beside the component, applied before the first dependent is deleted or after the last one is gone, and removed when all of them
// are ready. Delete policies have no effect on them. One that has failed stays, and keeps the component from going, until somebody
// deletes it, upon which it runs again, or sets the annotation skip-deletion-hooks on the component. An object that has hooks of both
// kinds is deleted and created anew.
//
// Hooks for pre-rollback, post-rollback, test and test-success are for releases of a command line, not for components. They are left out
// unless the context asks for them (generator.Surroundings); then they become release hooks (annotation release-hook, with the value
// test for both kinds of tests), which have the orders of the table, tests those of post hooks, reconcile-policy
// on-object-or-component-change, and delete policies as above. Both for the rollback means before it.
//
// Objects with the hook crd-install are left out, which was meant for Helm 2: Helm 3 leaves out whatever has a hook that it does not know,
// and charts for both contain the same definitions in folder crds. Other unknown hooks are refused. Hook annotations in crds
// folders mean nothing.
//
// If an object carries an annotation of the reconciler that one of these rules would set to another value, it
// is refused.
package helm
