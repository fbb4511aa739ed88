// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package gitops reads the annotations of Argo CD, and of Helm as Argo CD interprets them, that control when and how an
// object is applied. [HelmMapper] reads Helm's annotations as Helm interprets them. The package is pure.
//
// # Rules
//
//	annotation                        value                                        meaning
//	argocd.argoproj.io/hook           PreSync, Sync, PostSync, SyncFail            phases in which the hook is applied, each once
//	                                  PreDelete, PostDelete                        the same, when the whole set is deleted
//	                                  Skip                                         alone: the object is not applied; beside others: no meaning
//	argocd.argoproj.io/hook-delete-   HookSucceeded, HookFailed,                   when the hook is deleted; default BeforeHookCreation
//	  policy                          BeforeHookCreation
//	argocd.argoproj.io/sync-wave      -9999 to 9999                                place within the phase; default 0
//	argocd.argoproj.io/sync-options   the constants of type [Option]              how the object is applied and deleted
//	helm.sh/hook                      pre-install, pre-upgrade                     PreSync
//	                                  post-install, post-upgrade                   PostSync
//	                                  pre-delete, post-delete                      PreDelete, PostDelete
//	                                  pre-rollback, post-rollback, test, …         alone: the object is not applied; beside others: no meaning
//	                                  crd-install                                  alone: no hook
//	helm.sh/hook-weight               -9999 to 9999                                the wave
//	helm.sh/hook-delete-policy        hook-succeeded, hook-failed,                 as above
//	                                  before-hook-creation
//
// Argo CD's annotation of a row wins over Helm's, including delete policies, which Argo CD itself merges. Blanks around
// values are ignored. A value that is not in the table is an error, while Argo CD ignores it: a hook with a misspelt
// phase would never run, and an object with a misspelt wave would be applied too early. Only unknown options are notes.
// Delete policies of objects that are not hooks have no meaning.
package gitops
