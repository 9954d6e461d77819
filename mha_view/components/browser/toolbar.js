export function addToolbar() {}
