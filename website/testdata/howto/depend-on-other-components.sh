namespace demo
parcels
type_of_others example.org backends Backend Namespaced
